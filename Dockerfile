# Build: compile with the development dependencies.
FROM node:26-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Install scripts fetch tools that the compiler does not need (the node pin, buf).
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY gen ./gen
RUN node node_modules/typescript/bin/tsc -p tsconfig.build.json

# Production dependencies on their own.
FROM node:26-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:26-slim
WORKDIR /app
ENV NODE_ENV=production \
	A2A_GATEWAY_LISTEN=0.0.0.0:8080
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY bin ./bin
COPY schema ./schema
# By number, so that runAsNonRoot can be verified. The image's own "node" user.
USER 1000:1000
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["node", "bin/a2a-gateway.js", "health"]
ENTRYPOINT ["node", "bin/a2a-gateway.js"]
CMD ["serve"]
