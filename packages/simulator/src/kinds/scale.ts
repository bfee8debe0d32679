/**
 * The scale subresource: current and desired replicas, in a form that is the same for all kinds.
 */
import { objectIn, type SubresourceStrategy, type SubresourceView } from "@kcp-ts/apiserver/kinds";
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type LabelSelectorObject,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";
import { scale } from "@kcp-ts/machinery/shape";
import { replicasIn } from "./drafts.ts";

const view: SubresourceView = {
  group: "autoscaling",
  version: "v1",
  kind: "Scale",
  shape: scale,
  read(object) {
    const { name, namespace, uid, resourceVersion, creationTimestamp } = objectIn(
      object,
      "metadata",
    );
    const [spec, status] = [objectIn(object, "spec"), objectIn(object, "status")];
    const replicas = replicasIn(spec);
    const selector = selectorFromLabelSelectorObject(
      objectIn(spec, "selector") as LabelSelectorObject,
    );
    return {
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      metadata: defined({ name, namespace, uid, resourceVersion, creationTimestamp }),
      spec: replicas === 0 ? {} : { replicas },
      status: { replicas: replicasIn(status), selector: selector.toString() },
    };
  },
  write: (object, wanted) => ({
    ...object,
    spec: { ...objectIn(object, "spec"), replicas: replicasIn(objectIn(wanted, "spec")) },
  }),
};

function defined(members: { readonly [name: string]: JsonObject[string] | undefined }): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as JsonObject;
}

export const scaleEndpoint: SubresourceStrategy = {
  verbs: ["get", "patch", "update"],
  view,
  prepareForUpdate: () => {},
  validateUpdate: () => [],
};
