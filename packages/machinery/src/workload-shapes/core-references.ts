/** References from one object to another, which many kinds of the core group are made of. Numbers are those of the published protobuf files. */
import { bool, int64, list, message, quantity, string, zeroless } from "../shape/index.ts";

const group = "io.k8s.api.core.v1";

export const objectReference = message(
  `${group}.ObjectReference`,
  {
    kind: [1, zeroless(string)],
    namespace: [2, zeroless(string)],
    name: [3, zeroless(string)],
    uid: [4, zeroless(string)],
    apiVersion: [5, zeroless(string)],
    resourceVersion: [6, zeroless(string)],
    fieldPath: [7, zeroless(string)],
  },
  "",
  { isAtomic: true },
);

export const localObjectReference = message(
  `${group}.LocalObjectReference`,
  {
    name: [1, zeroless(string)],
  },
  "",
  { isAtomic: true },
);

export const secretReference = message(
  `${group}.SecretReference`,
  {
    name: [1, zeroless(string)],
    namespace: [2, zeroless(string)],
  },
  "",
  { isAtomic: true },
);

export const typedLocalObjectReference = message(
  `${group}.TypedLocalObjectReference`,
  {
    apiGroup: [1, string],
    kind: [2, string],
    name: [3, string],
  },
  "",
  { required: ["kind", "name"], isAtomic: true },
);

export const typedObjectReference = message(
  `${group}.TypedObjectReference`,
  {
    apiGroup: [1, string],
    kind: [2, string],
    name: [3, string],
    namespace: [4, string],
  },
  "",
  { required: ["kind", "name"] },
);

export const secretKeySelector = message(
  `${group}.SecretKeySelector`,
  {
    key: [2, string],
    optional: [3, bool],
  },
  "",
  { required: ["key"], isAtomic: true, inlined: [1, localObjectReference] },
);

export const configMapKeySelector = message(
  `${group}.ConfigMapKeySelector`,
  {
    key: [2, string],
    optional: [3, bool],
  },
  "",
  { required: ["key"], isAtomic: true, inlined: [1, localObjectReference] },
);

export const objectFieldSelector = message(
  `${group}.ObjectFieldSelector`,
  {
    apiVersion: [1, zeroless(string)],
    fieldPath: [2, string],
  },
  "",
  { required: ["fieldPath"], isAtomic: true },
);

export const resourceFieldSelector = message(
  `${group}.ResourceFieldSelector`,
  {
    containerName: [1, zeroless(string)],
    resource: [2, string],
    divisor: [3, quantity],
  },
  "",
  { required: ["resource"], isAtomic: true },
);

const nodeSelectorRequirement = message(
  `${group}.NodeSelectorRequirement`,
  {
    key: [1, string],
    operator: [2, string],
    values: [3, list(string)],
  },
  "",
  { required: ["key", "operator"] },
);

export const nodeSelectorTerm = message(
  `${group}.NodeSelectorTerm`,
  {
    matchExpressions: [1, list(nodeSelectorRequirement)],
    matchFields: [2, list(nodeSelectorRequirement)],
  },
  "",
  { isAtomic: true },
);

export const nodeSelector = message(
  `${group}.NodeSelector`,
  {
    nodeSelectorTerms: [1, list(nodeSelectorTerm)],
  },
  "",
  { required: ["nodeSelectorTerms"], isAtomic: true },
);

export const toleration = message(`${group}.Toleration`, {
  key: [1, zeroless(string)],
  operator: [2, zeroless(string)],
  value: [3, zeroless(string)],
  effect: [4, zeroless(string)],
  tolerationSeconds: [5, int64],
});

const topologySelectorLabelRequirement = message(
  `${group}.TopologySelectorLabelRequirement`,
  {
    key: [1, string],
    values: [2, list(string)],
  },
  "",
  { required: ["key", "values"] },
);

export const topologySelectorTerm = message(
  `${group}.TopologySelectorTerm`,
  {
    matchLabelExpressions: [1, list(topologySelectorLabelRequirement)],
  },
  "",
  { isAtomic: true },
);
