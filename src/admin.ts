/** The admin listener (design/contract.md `--admin`): health, status, and agents added and removed while the gateway runs. */
import type { Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { A2AError } from "./call/error.ts";
import { problem } from "./catalogue/pages.ts";
import type { Address, Config } from "./config/config.ts";
import type { Log } from "./config/log.ts";
import { type AgentRequest, readAgent } from "./config/request.ts";
import type { Count } from "./core/counters.ts";
import { listen } from "./listener/listen.ts";
import type { Report } from "./listener/options.ts";
import { mountApp, type SiteApp, type SiteBindings, siteApp } from "./listener/site.ts";
