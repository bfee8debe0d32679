/** What admission needs to know of namespaces, from the registry. */
import { isStatusError } from "@kcp-ts/machinery/status";
import type { NamespacePhase, NamespaceSource } from "./admission/index.ts";
import { namespaces, type Registry } from "./registry/index.ts";
import type { Entry } from "./storage/index.ts";
import { decodeObject } from "./stored-object/index.ts";
import type { WatchCache } from "./watch-cache/index.ts";

export function namespaceSource(registry: Registry, watchCache: WatchCache): NamespaceSource {
  return {
    phaseOf(cluster, name, signal) {
      const key = registry.key(namespaces, { cluster, namespace: "", name });
      const entry = watchCache.peek(key);
      if (entry !== undefined) return phaseOf(entry);
      return watchCache
        .get(key, { kind: "latest" }, signal())
        .then((found) => (found === undefined ? undefined : phaseOf(found)));
    },
    async create(cluster, name, signal) {
      try {
        await registry.create(
          namespaces,
          { cluster, namespace: "", name: "" },
          { metadata: { name } },
          { isDryRun: false, validate: async () => {}, signal },
        );
      } catch (error) {
        if (!isStatusError(error, "AlreadyExists")) throw error;
      }
    },
  };
}

/** Every write asks for its namespace: each stored state of one is looked into once. */
const phases = new WeakMap<Entry, NamespacePhase>();

function phaseOf(entry: Entry): NamespacePhase {
  let phase = phases.get(entry);
  if (phase === undefined) {
    const metadata = decodeObject(entry)["metadata"] as { deletionTimestamp?: string };
    phase = metadata.deletionTimestamp === undefined ? "Active" : "Terminating";
    phases.set(entry, phase);
  }
  return phase;
}
