/**
 * The scale subresource: current and desired replicas, in a form that is the same for all kinds.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type LabelSelectorObject,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";
import { scale } from "@kcp-ts/machinery/shape";
import { statusError } from "@kcp-ts/machinery/status";
import type { SubresourceStrategy, SubresourceView } from "../strategy.ts";
import { negativeErrors } from "./rules.ts";
import { objectIn } from "./standard.ts";

export function replicasIn(object: JsonObject): number {
  return Number(object["replicas"] ?? 0);
}

function viewOf(selectorText: (selector: JsonObject) => string): SubresourceView {
  return {
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
      const selector = selectorText(objectIn(spec, "selector"));
      return {
        kind: "Scale",
        apiVersion: "autoscaling/v1",
        metadata: defined({ name, namespace, uid, resourceVersion, creationTimestamp }),
        spec: replicas === 0 ? {} : { replicas },
        status: { replicas: replicasIn(status), ...(selector === "" ? {} : { selector }) },
      };
    },
    write(object, wanted) {
      const errors = negativeErrors(objectIn(wanted, "spec"), ["replicas"], "spec");
      if (errors.length > 0) {
        const { name } = objectIn(object, "metadata");
        throw statusError.invalid({ group: "autoscaling", kind: "Scale" }, String(name), errors);
      }
      const replicas = replicasIn(objectIn(wanted, "spec"));
      return { ...object, spec: { ...objectIn(object, "spec"), replicas } };
    },
  };
}

function defined(members: { readonly [name: string]: JsonObject[string] | undefined }): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as JsonObject;
}

function endpoint(view: SubresourceView): SubresourceStrategy {
  return {
    verbs: ["get", "patch", "update"],
    view,
    prepareForUpdate: () => {},
    validateUpdate: () => [],
  };
}

export const scaleEndpoint: SubresourceStrategy = endpoint(
  viewOf((selector) => selectorFromLabelSelectorObject(selector as LabelSelectorObject).toString()),
);

/** Of ReplicationControllers, whose selectors are plain labels. */
export const plainScaleEndpoint: SubresourceStrategy = endpoint(
  viewOf((matchLabels) =>
    selectorFromLabelSelectorObject({ matchLabels } as LabelSelectorObject).toString(),
  ),
);
