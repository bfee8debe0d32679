/** Pod Security admission, as every cluster has it: the labels of a namespace restrict its Pods. */
import { type AdmissionPlugin, denied } from "@kcp-ts/apiserver";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import type { Client } from "@kcp-ts/sdk";
import { namespaces } from "@kcp-ts/sdk/kinds";
import { type Level, violationsOf, violationText } from "./violations.ts";

const enforceLabel = "pod-security.kubernetes.io/enforce";
const levels: ReadonlySet<string> = new Set<Level>(["privileged", "baseline", "restricted"]);

/** `client` may read namespaces. */
export function podSecurityAdmission(client: () => Client): AdmissionPlugin {
  return {
    name: "PodSecurity",
    handles: ({ group, resource, subresource, operation }) =>
      group === "" &&
      resource === "pods" &&
      (subresource === "" ? operation === "CREATE" : subresource === "ephemeralcontainers"),
    async validate(request, object) {
      const { spec } = object as { spec?: JsonObject };
      // A Pod without violations of the strictest level has none of any level.
      if (spec === undefined || !isJsonObject(spec)) return;
      if (violationsOf(spec, "restricted").length === 0) return;
      const found = await client().resource(namespaces).find({ name: request.namespace });
      const label = found?.metadata.labels?.[enforceLabel] ?? "privileged";
      // As in Kubernetes: an invalid level counts as the strictest one.
      const level = levels.has(label) ? (label as Level) : "restricted";
      const violations = violationsOf(spec, level);
      if (violations.length > 0) throw denied(request, violationText(violations, level));
    },
  };
}
