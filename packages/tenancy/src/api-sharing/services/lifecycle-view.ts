/**
 * The virtual workspaces of initializers and terminators: the LogicalClusters that wait for one of them, and nothing else. Of such a
 * LogicalCluster its controller may take its own identifier away, and say how it is going.
 */
import { createHash } from "node:crypto";
import {
  type Catalog,
  type ResourceDefinition,
  runValidation,
  type SubresourceStrategy,
} from "@kcp-ts/apiserver/registry";
import { cachedLabels } from "@kcp-ts/apiserver/watch-cache";
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import {
  initializerLabel,
  logicalClusters,
  member,
  phaseLabel,
  terminatorLabel,
} from "../../workspaces/index.ts";
import { listOf, textOf } from "../kinds/as-definition.ts";
import { RestrictedDefinition } from "./restricted-definition.ts";

export type LifecycleService = "initializingworkspaces" | "terminatingworkspaces";

interface Lifecycle {
  readonly verb: "initialize" | "terminate";
  readonly word: "initializer" | "terminator";
  readonly list: "initializers" | "terminators";
  readonly phase: string;
  readonly permissions: string;
  /** Whether a LogicalCluster is there before it waits. */
  readonly entersModified: boolean;
}

export const lifecycles: Readonly<Record<LifecycleService, Lifecycle>> = {
  initializingworkspaces: {
    verb: "initialize",
    word: "initializer",
    list: "initializers",
    phase: "Initializing",
    permissions: "initializerPermissions",
    entersModified: false,
  },
  terminatingworkspaces: {
    verb: "terminate",
    word: "terminator",
    list: "terminators",
    phase: "Terminating",
    permissions: "terminatorPermissions",
    entersModified: true,
  },
};

export function isLogicalClusters(group: string, resource: string): boolean {
  return group === logicalClusters.group && resource === logicalClusters.resource;
}

export function lifecycleVirtualWorkspace(service: LifecycleService, id: string): Catalog {
  const { list, word, phase, entersModified } = lifecycles[service];
  const [label, value] =
    service === "initializingworkspaces" ? initializerLabel(id) : terminatorLabel(id);
  const status = logicalClusters.subresources.get("status") as SubresourceStrategy;
  const definition: ResourceDefinition = new RestrictedDefinition(logicalClusters, {
    verbs: ["get", "list", "watch"],
    entersModified,
    isVisible: (entry) => {
      const labels = cachedLabels(entry);
      return labels?.[phaseLabel] === phase && labels[label] === value;
    },
    status: {
      ...status,
      // Told before anything else: what is not this controller's is no question of who may do it.
      validateSent: (updated, old) => requireOwnEntryOnly({ updated, old, list, word, id }),
      validateUpdate: (updated, old) => [
        ...runValidation(status.validateUpdate(updated, old)),
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
    all: () => definitions,
    entriesOf,
  };
}

/** As kcp says it of every virtual workspace of this kind: nothing of what may be done with a status, and a hash with a place for a cluster. */
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
