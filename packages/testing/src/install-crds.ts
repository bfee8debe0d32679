/**
 * Installs CustomResourceDefinitions from files into a logical cluster, and waits until they are
 * served.
 */
import { readManifests } from "@kcp-ts/controlplane";
import { type Clock, sleep, systemClock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Condition,
  defineResource,
  isConditionTrue,
  type KubernetesObject,
} from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import type { KindDefinition } from "@kcp-ts/sdk/schema";

export interface CustomResourceDefinition extends KubernetesObject {
  readonly spec: JsonObject;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export const customResourceDefinitions = defineResource<CustomResourceDefinition>(
  kinds.customResourceDefinitions,
);

const establishedTimeoutMs = 10_000;
const establishedPollMs = 2;

/** A file or folder, or a definition as `defineKind` returns it. */
export type CrdSource = string | KindDefinition;

/** Of files and folders, YAML and JSON files are read; other kinds in them are skipped. */
export async function installCrds(
  client: Client,
  sources: readonly CrdSource[],
): Promise<readonly string[]> {
  const paths = sources.filter((one) => typeof one === "string");
  const given = sources.filter((one) => typeof one !== "string");
  const manifests = (await Promise.all(paths.map((path) => readManifests(path)))).flat();
  const found = manifests.filter(({ kind }) => kind === customResourceDefinitions.kind);
  if (found.length === 0 && paths.length > 0) {
    throw new Error(`no CustomResourceDefinition was found in ${paths.join(", ")}`);
  }
  const definitions = [...found, ...given];
  return Promise.all(
    definitions.map((definition) =>
      install(client, definition as unknown as CustomResourceDefinition),
    ),
  );
}

async function install(client: Client, definition: CustomResourceDefinition): Promise<string> {
  const definitions = client.resource(customResourceDefinitions);
  const { name } = definition.metadata;
  const { status: _, ...wanted } = definition;
  try {
    await definitions.create(wanted as CustomResourceDefinition);
  } catch (error) {
    if (!isStatusError(error, "AlreadyExists")) throw error;
    const resourceVersion = (await definitions.get({ name })).metadata.resourceVersion ?? "";
    await definitions.update({
      ...wanted,
      metadata: { ...wanted.metadata, resourceVersion },
    } as CustomResourceDefinition);
  }
  await established(client, name, systemClock);
  return name;
}

async function established(client: Client, name: string, clock: Clock): Promise<void> {
  const giveUpAtMs = clock.monotonic() + establishedTimeoutMs;
  for (;;) {
    const { status } = await client.resource(customResourceDefinitions).get({ name });
    if (isConditionTrue(status?.conditions ?? [], "Established")) return;
    if (clock.monotonic() > giveUpAtMs) {
      throw new Error(
        `the CustomResourceDefinition ${name} is not established: ${JSON.stringify(status?.conditions ?? [])}`,
      );
    }
    await sleep(clock, establishedPollMs);
  }
}
