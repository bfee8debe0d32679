/** The name of an agent, and its manifest under that name. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type AgentManifestOptions, manifestOfAgent } from "../agent-manifest/index.ts";
import { hashDigits } from "../api/index.ts";
import type { TargetIdentity } from "../syncer/index.ts";

/**
 * The name of all objects of an agent, in the control plane and in its cluster, and of its
 * namespace there.
 */
export function agentId({ name, uid }: Pick<TargetIdentity, "name" | "uid">): string {
  const hash = hashDigits(uid, 8);
  const prefix = "kcp-syncer";
  return `${prefix}-${name.slice(0, labelCharactersMax - prefix.length - hash.length - 2)}-${hash}`;
}

/** The limit for the name of a namespace and for the value of a label. */
const labelCharactersMax = 63;

export function agentManifest(options: AgentManifestOptions): readonly JsonObject[] {
  return manifestOfAgent(agentId(options.target), options);
}
