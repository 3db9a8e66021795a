/** v0.3 ProtoJSON cards ↔ v1.0 cards. */
import type { JsonObject } from "@bufbuild/protobuf";
import { isObject, type Lens, misfit } from "../lens.ts";
import { card as kindCard } from "./card.ts";

/** A v0.3 ProtoJSON card is the v1.0 member style in the v0.3 layout. Reads the JSON-schema style too. */
export const card: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		const { securitySchemes, security, skills, ...rest } = value;
		const core = kindCard.lift(rest, at) as JsonObject;
		const member = isObject(securitySchemes) && !Object.values(securitySchemes).some((s) => isObject(s) && "type" in s);
		if (!member) return kindCard.lift(value, at);
		return {
			...core,
			securitySchemes,
			...(Array.isArray(security) && { securityRequirements: security }),
			...(Array.isArray(skills) && {
				skills: skills.map((skill) => {
					if (!isObject(skill)) return skill;
					const { security: own, ...others } = skill;
					return own === undefined ? others : { ...others, securityRequirements: own };
				}),
			}),
		};
	},
	lower(value, at) {
		const { securitySchemes, securityRequirements, skills, ...rest } = value as JsonObject;
		const older = kindCard.lower(rest, at) as JsonObject;
		return {
			...older,
			...(securitySchemes !== undefined && { securitySchemes }),
			...(securityRequirements !== undefined && { security: securityRequirements }),
			...(Array.isArray(skills) && {
				skills: skills.map((skill) => {
					if (!isObject(skill)) return skill;
					const { securityRequirements: own, ...others } = skill;
					return own === undefined ? others : { ...others, security: own };
				}),
			}),
		};
	},
};
