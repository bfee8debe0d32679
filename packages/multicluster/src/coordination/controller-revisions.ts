/**
 * The revisions of a StatefulSet or a DaemonSet, for `kubectl rollout history` and `undo`: one
 * ControllerRevision for each Pod template that the set has had. The clusters have
 * ControllerRevisions of their own for running Pods; these are separate objects. Pure.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { defineResource, type KubernetesObject, type Resource } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { ownedByLabel } from "../api/index.ts";
import { ownerLabelValue, ownerReference } from "./cluster-copy.ts";
import { annotationsOf, type RevisionKind, templateLabels } from "./revisions.ts";
import type { Workload } from "./workload.ts";

export interface ControllerRevision extends KubernetesObject {
  readonly data?: JsonObject;
  readonly revision: number;
}

export const controllerRevisions = defineResource<ControllerRevision>(kinds.controllerRevisions);

export function controllerRevisionHistory(
  owner: Resource<Workload>,
): RevisionKind<ControllerRevision> {
  return {
    resource: controllerRevisions,
    numberOf: ({ revision }) => (Number.isSafeInteger(revision) && revision > 0 ? revision : 0),
    newRevision(parent, template, { hash, name, number }) {
      const { namespace } = parent.metadata;
      const workload = { [ownedByLabel]: ownerLabelValue(parent.metadata.name) };
      return {
        metadata: {
          name,
          ...(namespace === undefined ? {} : { namespace }),
          // kubectl finds revisions by the selector of the set.
          labels: { ...templateLabels(template), "controller-revision-hash": hash, ...workload },
          annotations: annotationsOf(parent),
          ownerReferences: [ownerReference(owner, parent)],
        },
        // kubectl sends this patch unchanged when a user rolls back to the revision.
        data: { spec: { template: { ...template, $patch: "replace" } } },
        revision: number,
      };
    },
    withRevision: (kept, parent, number) => ({
      ...kept,
      metadata: { ...kept.metadata, annotations: annotationsOf(parent) },
      revision: number,
    }),
  };
}
