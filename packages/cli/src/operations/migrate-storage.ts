/**
 * Storage version migration: every object of a definition is written once, so that it is stored in
 * the definition's storage version; then the definition names no other stored version.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import { type CustomResourceDefinition, customResourceDefinitions } from "@kcp-ts/sdk/kinds";

export interface MigratedDefinition {
  readonly name: string;
  readonly version: string;
  readonly objects: number;
}

const pageSize = 500;
const concurrentWrites = 16;

/** Undefined when all objects are stored in the storage version already. */
export async function migrateStorage(
  client: Client,
  name: string,
  signal: AbortSignal,
): Promise<MigratedDefinition | undefined> {
  const definitions = client.resource(customResourceDefinitions);
  const before = await definitions.get({ name }, { signal });
  const version = storageVersionOf(before);
  if (isMigrated(before, version)) return undefined;
  const { group, names, scope } = before.spec;
  const objects = client.resource(
    defineResource<KubernetesObject>({
      ...{ group, version, resource: names.plural, kind: names.kind },
      namespaced: scope === "Namespaced",
    }),
  );
  let count = 0;
  for await (const batch of objects.batches({ pageSize, signal })) {
    for (let at = 0; at < batch.length; at += concurrentWrites)
      await Promise.all(
        batch.slice(at, at + concurrentWrites).map((object) => rewrite(objects, object, signal)),
      );
    count += batch.length;
  }
  const now = await definitions.get({ name }, { signal });
  if (storageVersionOf(now) !== version)
    throw new Error(`the storage version of ${name} was changed meanwhile: run it again`);
  await definitions.updateStatus(
    { ...now, status: { ...now.status, storedVersions: [version] } } as typeof now,
    { signal },
  );
  return { name, version, objects: count };
}

/** The names of definitions that have objects, perhaps, in other versions. */
export async function unmigrated(client: Client, signal: AbortSignal): Promise<readonly string[]> {
  const { items } = await client.resource(customResourceDefinitions).list({ signal });
  return items
    .filter((one) => !isMigrated(one, storageVersionOf(one)))
    .map(({ metadata }) => metadata.name ?? "");
}

function isMigrated({ status }: CustomResourceDefinition, version: string): boolean {
  const { storedVersions = [] } = status ?? {};
  return storedVersions.every((one) => one === version);
}

function storageVersionOf({ metadata, spec }: CustomResourceDefinition): string {
  const version = spec.versions.find(({ storage }) => storage)?.name;
  if (version === undefined) throw new Error(`${metadata.name} has no storage version`);
  return version;
}

/** Another write, or a deletion, has done the same. */
async function rewrite(
  objects: ReturnType<Client["resource"]>,
  object: KubernetesObject,
  signal: AbortSignal,
): Promise<void> {
  try {
    await objects.update(object as never, { signal });
  } catch (error) {
    if (!isStatusError(error, "Conflict") && !isStatusError(error, "NotFound")) throw error;
  }
}
