/** Where the kinds are found that controllers work on. */
import { defineResource } from "@kcp-ts/sdk";
import type { Deployment, Node, Pod, ReplicaSet } from "./objects.ts";

const core = { group: "", version: "v1" } as const;
const apps = { group: "apps", version: "v1", namespaced: true } as const;

export const pods = defineResource<Pod>({
  ...core,
  resource: "pods",
  kind: "Pod",
  namespaced: true,
});

export const nodes = defineResource<Node>({
  ...core,
  resource: "nodes",
  kind: "Node",
  namespaced: false,
});

export const replicaSets = defineResource<ReplicaSet>({
  ...apps,
  resource: "replicasets",
  kind: "ReplicaSet",
});

export const deployments = defineResource<Deployment>({
  ...apps,
  resource: "deployments",
  kind: "Deployment",
});
