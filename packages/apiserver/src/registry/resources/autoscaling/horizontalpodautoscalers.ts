/** HorizontalPodAutoscalers: v2 is the storage version, and v1 is converted. */
import {
  autoscalingV1HorizontalPodAutoscaler,
  horizontalPodAutoscaler,
} from "@kcp-ts/machinery/shape";
import { conversionCodec } from "../../conversion-codec.ts";
import { mutableMember, mutableMemberIfPresent, setDefault } from "../../mutable-members.ts";
import type { NativeKind } from "../native-kind.ts";
import { listIn, objectIn } from "../standard.ts";
import { autoscalerErrors, autoscalerStatusErrors } from "./autoscaler-rules.ts";
import { setBehaviorDefaults } from "./scaling-behavior.ts";
import { cpuMetric, cpuPercentDefault, toV1, toV2 } from "./v1-conversion.ts";

const common = {
  group: "autoscaling",
  kind: "HorizontalPodAutoscaler",
  resource: "horizontalpodautoscalers",
  shortNames: ["hpa"],
  categories: ["all"],
  hasGeneration: false,
} as const;

export const horizontalPodAutoscalers: NativeKind = {
  ...common,
  version: "v2",
  shape: horizontalPodAutoscaler,
  setDefaults(draft) {
    const spec = mutableMember(draft, "spec");
    setDefault(spec, "minReplicas", 1);
    if (listIn(spec["metrics"]).length === 0) spec["metrics"] = [cpuMetric(cpuPercentDefault)];
    const behavior = mutableMemberIfPresent(spec, "behavior");
    if (behavior !== undefined) setBehaviorDefaults(behavior);
  },
  prepareNew(draft) {
    draft["status"] = { desiredReplicas: 0, currentMetrics: null };
  },
  completeStatus(status) {
    status["currentMetrics"] ??= null;
  },
  validate: autoscalerErrors,
  validateStatus: autoscalerStatusErrors,
};

export const horizontalPodAutoscalersV1: NativeKind = {
  ...common,
  version: "v1",
  shape: autoscalingV1HorizontalPodAutoscaler,
  setDefaults(draft) {
    const spec = mutableMember(draft, "spec");
    setDefault(spec, "minReplicas", 1);
    const { targetCPUUtilizationPercentage: percent } = objectIn(toV1(toV2(draft)), "spec");
    if (percent !== undefined) setDefault(spec, "targetCPUUtilizationPercentage", percent);
  },
  prepareNew(draft) {
    draft["status"] = { currentReplicas: 0, desiredReplicas: 0 };
  },
  validate: (object, old) => autoscalerErrors(toV2(object), old && toV2(old)),
  validateStatus: autoscalerStatusErrors,
  storage: {
    storageVersion: "v2",
    codec: conversionCodec({ name: "autoscaling/v1", toServed: toV1, toStored: toV2 }),
  },
};
