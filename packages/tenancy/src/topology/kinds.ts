/**
 * The kinds of topology as in kcp v0.32: a Partition selects shards by their labels, a PartitionSet
 * creates Partitions by the values of some labels.
 */
import { systemDefinition } from "@kcp-ts/apiserver/custom-resources";
import type { ResourceDefinition, SubresourceStrategy } from "@kcp-ts/apiserver/registry";
import {
  ageColumn,
  column,
  kindSchema,
  list,
  map,
  object,
  rules,
  type SystemKind,
  string,
} from "@kcp-ts/machinery/schema";
import { conditions, labelSelector } from "../workspaces/index.ts";

const shared = { group: "topology.kcp.io", version: "v1alpha1", categories: ["kcp"] } as const;

const partitionKind: SystemKind = {
  ...shared,
  kind: "Partition",
  resource: "partitions",
  columns: [
    column("Owner", ".metadata.ownerReferences[*].name", { description: "Who made it." }),
    ageColumn,
  ],
  schema: kindSchema(
    "Some of all shards, by their labels.",
    {
      spec: object({
        selector: { ...labelSelector, description: "Which shards belong to it; all if left out." },
      }),
    },
    { required: ["spec"] },
  ),
};

const dimensionsMax = 10;
const requirementsMax = 10;
/** A prefix, a slash and a name. */
const keyCharactersMax = 253 + 1 + 63;
const word = "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
const prefix = "^[a-z0-9]([-a-z0-9]{0,251}[a-z0-9])?$";
const keyMessage = `Label key prefixes are optional and limited to 253 characters. They should match "${prefix}". Names are limited to 63 characters and should match "${word}". "/" is used as separator.`;
const isKey = (key: string) =>
  `${key}.contains("/") ? ${key}.split("/", 2)[0].matches("${prefix}") && ${key}.split("/", 2)[1].matches("${word}") : ${key}.matches("${word}")`;

/**
 * Only a valid selector is admitted: a PartitionSet copies it into Partitions, where the author of
 * the set does not see its errors.
 */
const shardSelector = object(
  {
    matchLabels: map(string("", { maxLength: 380 }), {
      description: "Labels that shards must have; their values are in the Partitions, too.",
      maxProperties: requirementsMax,
      ...rules(
        [`self.all(k, ${isKey("k")})`, keyMessage],
        [
          `self.all(k, self[k].matches("${word}"))`,
          `Label values are limited to 63 characters and should match "${word}".`,
        ],
      ),
    }),
    matchExpressions: list(
      object(
        {
          key: string("", { maxLength: keyCharactersMax, ...rules([isKey("self"), keyMessage]) }),
          operator: string("", { enum: ["In", "NotIn", "Exists", "DoesNotExist"] }),
          values: list(string("", { maxLength: 63, pattern: word })),
        },
        {
          required: ["key", "operator"],
          ...rules([
            'self.operator in ["In", "NotIn"] ? has(self.values) && size(self.values) > 0 : !has(self.values)',
            "There should be at least one value for In and NotIn operators. There should not be any value for Exists and DoesNotExist operators.",
          ]),
        },
      ),
      { maxItems: requirementsMax },
    ),
  },
  { "x-kubernetes-map-type": "atomic", description: "Which shards are divided; all if left out." },
);

const partitionSetKind: SystemKind = {
  ...shared,
  kind: "PartitionSet",
  resource: "partitionsets",
  hasStatus: true,
  columns: [
    column("Count", ".status.count", { description: "How many Partitions it has." }),
    ageColumn,
  ],
  schema: kindSchema(
    "Divides shards into Partitions: one for each combination of values that the labels of its dimensions have.",
    {
      spec: object({
        dimensions: list(string("The key of a label.", { maxLength: keyCharactersMax }), {
          maxItems: dimensionsMax,
        }),
        shardSelector,
      }),
      status: object({ count: { type: "integer" }, conditions }),
    },
    { required: ["spec"] },
  ),
};

/** The schemas that an export of root has for these kinds. */
export const topologyKinds: readonly SystemKind[] = [partitionKind, partitionSetKind];
export const partitions: ResourceDefinition = systemDefinition(partitionKind);
export const partitionSets: ResourceDefinition = systemDefinition(partitionSetKind);

/** The strategy of the server's own writes: the status only, without update validation. */
export const systemWrite: SubresourceStrategy = {
  verbs: [],
  prepareForUpdate: () => {},
  validateUpdate: () => [],
};
