/** Supplies the service accounts and Secrets that authentication needs, from the watch cache. */
import { neverAborted } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { AccountObject, ServiceAccountTokenGetter } from "../authentication/index.ts";
import {
  secrets,
  serviceAccounts,
  storageKeyOf,
  translateStorageErrors,
} from "../registry/index.ts";
import type { Entry } from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import type { WatchCache } from "../watch-cache/index.ts";

export function serviceAccountTokenGetter(watchCache: WatchCache): ServiceAccountTokenGetter {
  return {
    getter(resource, address) {
      const definition = resource === "secrets" ? secrets : serviceAccounts;
      const key = storageKeyOf(definition, address);
      return () => {
        const entry = watchCache.peek(key);
        if (entry !== undefined) return stateOf(entry);
        // The pipeline enforces the timeout of the request, and the store limits its own waiting.
        return translateStorageErrors({ resource: definition }, () =>
          watchCache.get(key, { kind: "latest" }, neverAborted),
        ).then((found) => (found === undefined ? undefined : stateOf(found)));
      };
    },
  };
}

/**
 * Caches the decoded state of each stored account, because every request of a service account reads
 * it.
 */
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
