/**
 * Admission of Pods that are copies of what runs in a physical cluster: whoever works in that cluster writes them, and nobody else.
 *
 * They may be deleted, which restarts the Pod. Nothing is decided by what a copy says of itself (`PodConnections` computes where it runs);
 * this is so that people do not change what changes nothing, and do not make what is nowhere.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import {
  type Place,
  registrationFieldManager,
  stateLabel,
  stateLabelPrefix,
  stateUpsync,
  syncerFieldManager,
} from "@kcp-ts/multicluster";
import type { AdmissionPlugin, AdmissionRequest, Authorizer } from "@kcp-ts/server";
import { maySync } from "./may-sync.ts";

export interface CopiesAdmissionOptions {
  readonly authorizer: () => Authorizer;
  /** Where a SyncTarget is that is called so by a logical cluster that it is not in. */
  readonly sharedPlace: (cluster: ClusterName, name: string) => Promise<Place | undefined>;
}

export function copiesAdmission(options: CopiesAdmissionOptions): AdmissionPlugin {
  return {
    name: "CopiesOfPods",
    // Ephemeral containers are added to the Pod itself, and the copy follows.
    concerns: ({ group, resource, subresource, operation }) =>
      resource === "pods" &&
      group === "" &&
      subresource !== "ephemeralcontainers" &&
      (operation === "CREATE" || operation === "UPDATE"),
    async validate(request, object, old) {
      const before = new Set(old === undefined ? [] : copiedFrom(old));
      const concerned = new Set([...before, ...copiedFrom(object)]);
      for (const target of concerned) {
        if (await isSyncer(request, target, options)) continue;
        const { group, resource, name } = request;
        throw statusError.forbidden(
          { group, resource },
          name,
          before.has(target)
            ? `it is a copy of a Pod in ${target} and cannot be changed here: change what the Pod was made from, or delete it to have it restarted`
            : `the label ${stateLabel(target)}: ${stateUpsync} says that it runs in ${target}, which only the syncer of ${target} can say`,
        );
      }
    },
  };
}

/** The SyncTargets that an object says it is a copy from. */
function copiedFrom({ metadata }: JsonObject): string[] {
  const labels = isJsonObject(metadata ?? null) ? (metadata as JsonObject)["labels"] : undefined;
  if (labels === undefined || !isJsonObject(labels)) return [];
  return Object.entries(labels)
    .filter(([label, state]) => label.startsWith(stateLabelPrefix) && state === stateUpsync)
    .map(([label]) => label.slice(stateLabelPrefix.length));
}

/** The syncer; and who lets go of what it held, when there is none any more. */
const writers: ReadonlySet<JsonValue | undefined> = new Set([
  syncerFieldManager,
  registrationFieldManager,
]);

/** Who may sync to the cluster, and says that it is what they do: an administrator who types is no syncer. */
async function isSyncer(
  { user, cluster, options }: AdmissionRequest,
  name: string,
  { authorizer, sharedPlace }: CopiesAdmissionOptions,
): Promise<boolean> {
  if (!writers.has(options["fieldManager"])) return false;
  // Who may sync to a cluster of another workspace is said there, not by those who use it.
  const place = (await sharedPlace(cluster, name)) ?? { cluster, name };
  return maySync(authorizer(), user, place);
}
