/**
 * What a StatefulSet or a DaemonSet has been, for `kubectl rollout history` and `undo`: one ControllerRevision for each Pod template it has had. Those by which Pods are
 * made are in the clusters, and none of these. Pure.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { defineResource, type KubernetesObject, type Resource } from "@kcp-ts/sdk";
import { ownedByLabel } from "../api/index.ts";
import { ownerLabelValue, ownerReference } from "./part.ts";
import { annotationsOf, type RevisionKind, templateLabels } from "./revisions.ts";
import type { Workload } from "./workload.ts";

export interface ControllerRevision extends KubernetesObject {
  readonly data?: JsonObject;
  readonly revision: number;
}

export const controllerRevisions = defineResource<ControllerRevision>({
  group: "apps",
  version: "v1",
  resource: "controllerrevisions",
  kind: "ControllerRevision",
  namespaced: true,
});

export function controllerRevisionHistory(
  owner: Resource<Workload>,
): RevisionKind<ControllerRevision> {
  return {
    resource: controllerRevisions,
    numberOf: ({ revision }) => (Number.isSafeInteger(revision) && revision > 0 ? revision : 0),
    make(parent, template, { hash, name, number }) {
      const { namespace } = parent.metadata;
      const whole = { [ownedByLabel]: ownerLabelValue(parent.metadata.name) };
      return {
        metadata: {
          name,
          ...(namespace === undefined ? {} : { namespace }),
          // kubectl finds them by the selector of the whole.
          labels: { ...templateLabels(template), "controller-revision-hash": hash, ...whole },
          annotations: annotationsOf(parent),
          ownerReferences: [ownerReference(owner, parent)],
        },
        // It is sent as it is when somebody goes back to it.
        data: { spec: { template: { ...template, $patch: "replace" } } },
        revision: number,
      };
    },
    renumbered: (kept, parent, number) => ({
      ...kept,
      metadata: { ...kept.metadata, annotations: annotationsOf(parent) },
      revision: number,
    }),
  };
}
