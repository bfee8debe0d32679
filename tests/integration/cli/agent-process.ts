/**
 * For tests: an agent as its Deployment would run it. The Secret of the manifest is its folder, and
 * nothing else comes from the control plane.
 */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Manifest, parseManifests } from "@kcp-ts/controlplane";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { spawnAgent } from "./kcp-process.ts";

export interface AgentManifest {
  readonly objects: readonly Manifest[];
  object(kind: string): Manifest;
  /** Of the Secret, decoded. */
  readonly files: Readonly<Record<string, string>>;
  readonly args: readonly string[];
}

export function readAgentManifest(text: string): AgentManifest {
  const objects = parseManifests(text, "the manifest");
  const object = (kind: string): Manifest => {
    const found = objects.find((one) => one.kind === kind);
    assert.ok(found !== undefined, `there is no ${kind} in the manifest`);
    return found;
  };
  const data = object("Secret")["data"] as Record<string, string>;
  const files = Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, Buffer.from(value, "base64").toString()]),
  );
  const { template } = object("Deployment")["spec"] as { template: JsonObject };
  const { containers } = template["spec"] as unknown as { containers: { args: string[] }[] };
  return { objects, object, files, args: containers[0]?.args ?? [] };
}

/**
 * As kubelet would start it: the Secret as files, the arguments as they stand, and the cluster that
 * it is in.
 */
export async function startAgent(
  { files, args }: AgentManifest,
  { folder, toKubeconfig }: { readonly folder: string; readonly toKubeconfig: string },
) {
  const mounted = join(folder, "kcp");
  await mkdir(mounted, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(mounted, name), text);
  const to = join(folder, "to.kubeconfig");
  await writeFile(to, toKubeconfig);
  const moved = args.map((one) => one.replace("=/kcp/", `=${mounted}/`));
  return spawnAgent([...moved, "--to-kubeconfig", to]);
}
