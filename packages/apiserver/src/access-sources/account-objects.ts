/** What authentication needs to know of service accounts and their secrets, from the registry. */
import { neverAborted } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { AccountObject, ServiceAccountTokenGetter } from "../authentication/index.ts";
import {
  type Registry,
  secrets,
  serviceAccounts,
  translateStorageErrors,
} from "../registry/index.ts";
import type { Entry } from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import type { WatchCache } from "../watch-cache/index.ts";

export function accountObjects(
  registry: Registry,
  watchCache: WatchCache,
): ServiceAccountTokenGetter {
  return {
    place(resource, address) {
      const definition = resource === "secrets" ? secrets : serviceAccounts;
      const key = registry.key(definition, address);
      return () => {
        const entry = watchCache.peek(key);
        if (entry !== undefined) return stateOf(entry);
        // The request's deadline is the pipeline's, and the store bounds its own waiting.
        return translateStorageErrors({ resource: definition }, () =>
          watchCache.get(key, { kind: "latest" }, neverAborted),
        ).then((found) => (found === undefined ? undefined : stateOf(found)));
      };
    },
  };
}

/** Every request of a service account asks for it: each stored state of one is looked into once. */
const states = new WeakMap<Entry, AccountObject>();

function stateOf(entry: Entry): AccountObject {
  let state = states.get(entry);
  if (state === undefined) {
    const { metadata, data } = decodeObject(entry) as unknown as StoredAccount;
    const { uid, deletionTimestamp } = metadata;
    const token = data?.["token"];
    state = {
      uid,
      deletedAt: deletionTimestamp === undefined ? undefined : Date.parse(deletionTimestamp),
      token:
        typeof token === "string" ? Buffer.from(token, "base64").toString("latin1") : undefined,
    };
    states.set(entry, state);
  }
  return state;
}

interface StoredAccount {
  readonly metadata: { readonly uid: string; readonly deletionTimestamp?: string };
  readonly data?: JsonObject;
}
