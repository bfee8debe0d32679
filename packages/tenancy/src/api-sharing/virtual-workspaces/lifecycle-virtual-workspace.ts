/**
 * The virtual workspaces of initializers and terminators: only the LogicalClusters that wait for
 * the identifier. The controller may remove its own identifier from such a LogicalCluster, and
 * write its conditions.
 */
import { createHash } from "node:crypto";
import {
  type Catalog,
  type ResourceDefinition,
  runValidation,
  type SubresourceStrategy,
} from "@kcp-ts/apiserver/registry";
import { cachedLabels } from "@kcp-ts/apiserver/watch-cache";
import { type JsonObject, jsonEqual, listOf, textOf } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import {
  initializerLabel,
  logicalClusters,
  member,
  phaseLabel,
  terminatorLabel,
} from "../../workspaces/index.ts";
import { RestrictedDefinition } from "./restricted-definition.ts";

export type LifecycleService = "initializingworkspaces" | "terminatingworkspaces";

interface Lifecycle {
  readonly verb: "initialize" | "terminate";
  readonly lifecycleName: "initializer" | "terminator";
  readonly list: "initializers" | "terminators";
  readonly phase: string;
  readonly permissions: string;
  /** Whether a LogicalCluster exists before it waits for the identifier. */
  readonly entersAsModified: boolean;
}

export const lifecycles: Readonly<Record<LifecycleService, Lifecycle>> = {
  initializingworkspaces: {
    verb: "initialize",
    lifecycleName: "initializer",
    list: "initializers",
    phase: "Initializing",
    permissions: "initializerPermissions",
    entersAsModified: false,
  },
  terminatingworkspaces: {
    verb: "terminate",
    lifecycleName: "terminator",
    list: "terminators",
    phase: "Terminating",
    permissions: "terminatorPermissions",
    entersAsModified: true,
  },
};

export function isLogicalClusters(group: string, resource: string): boolean {
  return group === logicalClusters.group && resource === logicalClusters.resource;
}

export function lifecycleVirtualWorkspace(service: LifecycleService, id: string): Catalog {
  const { list, lifecycleName: word, phase, entersAsModified } = lifecycles[service];
  const [label, value] =
    service === "initializingworkspaces" ? initializerLabel(id) : terminatorLabel(id);
  const status = logicalClusters.subresources.get("status") as SubresourceStrategy;
  const definition: ResourceDefinition = new RestrictedDefinition(logicalClusters, {
    verbs: ["get", "list", "watch"],
    entersAsModified,
    isVisible: (entry) => {
      const labels = cachedLabels(entry);
      return labels?.[phaseLabel] === phase && labels[label] === value;
    },
    status: {
      ...status,
      // Validated first, as sent: a change of another controller's entry is rejected for every
      // user.
      validateSent: (updated, old) => requireOwnEntryOnly({ updated, old, list, word, id }),
      validateUpdate: (updated, old, context) => [
        ...runValidation(status.validateUpdate(updated, old, context)),
        ...requireOwnEntryOnly({ updated, old, list, word, id }),
      ],
    },
  });
  const definitions = [definition];
  return {
    find: (_cluster, group, version, resource) =>
      isLogicalClusters(group, resource) && version === logicalClusters.version
        ? definition
        : undefined,
    all: async () => definitions,
    discoveryEntriesOf: entriesOf,
  };
}

/**
 * Matches kcp's discovery of all virtual workspaces of this kind: it lists no verbs of the status,
 * and a hash with a placeholder for the cluster.
 */
function entriesOf({
  group,
  version,
  resource,
  singular,
  kind,
  verbs,
  categories,
}: ResourceDefinition): readonly JsonObject[] {
  const hash = createHash("sha256").update(`/${group}/${version}/${kind}`).digest();
  const common = { namespaced: false, kind };
  return [
    {
      name: resource,
      singularName: singular,
      ...common,
      verbs,
      categories,
      storageVersionHash: hash.subarray(0, 8).toString("base64"),
    },
    { name: `${resource}/status`, singularName: "", ...common, verbs: null },
  ];
}

interface Change {
  readonly updated: JsonObject;
  readonly old: JsonObject;
  readonly list: "initializers" | "terminators";
  readonly word: string;
  readonly id: string;
}

function requireOwnEntryOnly({ updated, old, list, word, id }: Change): FieldError[] {
  const [now, before] = [listOf(statusOf(updated)[list]), listOf(statusOf(old)[list])];
  const without = before.filter((one) => one !== id);
  if (jsonEqual([...now], [...before]) || jsonEqual([...now], without)) return [];
  return [
    fieldError.invalid(
      `status.${list}`,
      now.map(textOf).join(","),
      `only removing the "${id}" ${word} is supported`,
    ),
  ];
}

function statusOf(object: JsonObject): JsonObject {
  return member(object, "status");
}
