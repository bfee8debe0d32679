/** The native kinds of the corpus by their names; of a kind with two versions the newer one. */
import type { NativeNames } from "./native-definition.ts";
import { autoscaling, core, networking, policies } from "./native-kinds.ts";
import { claims, storage } from "./native-storage-kinds.ts";
import { kinds } from "./workloads.ts";

const all: readonly NativeNames[] = [
  ...[...kinds, ...core, ...networking, ...policies, ...storage, ...claims],
  ...autoscaling.filter(({ apiVersion }) => apiVersion !== "autoscaling/v1"),
];

export const namedKinds: ReadonlyMap<string, NativeNames> = new Map(
  all.map((names) => [names.kind, names]),
);
