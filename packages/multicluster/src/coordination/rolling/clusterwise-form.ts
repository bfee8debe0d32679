/** Kinds of people's own. Nobody knows what of their spec makes Pods be replaced, nor how: all of it but the count goes to one cluster after the other, the next when the last is available again. */
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import type { Workload } from "../workload.ts";
import type { KindRollout } from "./form.ts";

export interface CountedPods {
  /** What a part is to have. */
  pods(spec: JsonObject): number;
  withPods(spec: JsonObject, pods: number): JsonObject;
  available(part: Workload): number;
}

export function clusterByClusterRollout({ pods, withPods, available }: CountedPods): KindRollout {
  const withTemplate: KindRollout["withTemplate"] = (spec, template) =>
    withPods(template as JsonObject, pods(spec));
  return {
    template: (spec) => withPods(spec, 0),
    withTemplate,
    isBehind: (wanted, current) => !jsonEqual(wanted, withTemplate(wanted, current)),
    held: withTemplate,
    allowance: () => "clusterwise",
    least: { unavailable: 1, surge: 0 },
    paced: (spec) => spec,
    asPaced: (spec) => spec,
    paceOf: ({ spec }) => ({ unavailable: pods(spec), surge: 0 }),
    pods: (_part, spec) => pods(spec),
    available,
    updated: available,
    isReplaced: (part) => available(part) >= pods(part.spec),
  };
}
