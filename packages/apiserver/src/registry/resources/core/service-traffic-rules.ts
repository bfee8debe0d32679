/** Rules of how traffic reaches a Service, in the words of Kubernetes. */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { blockErrors, endpointAddressErrors, ipAddressErrors } from "../address-rules.ts";
import { labelNameErrorsAt } from "../rules.ts";
import { itemErrors, listIn, textIn } from "../standard.ts";

const onlyBalanced = "may only be used when `type` is 'LoadBalancer'";
const distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];

export function externalAddressErrors(spec: JsonObject): FieldError[] {
  return itemErrors<string>(spec["externalIPs"], "spec.externalIPs", (address, at) => {
    const errors = ipAddressErrors(address, at);
    return errors.length > 0 ? errors : endpointAddressErrors(address, at);
  });
}

export function trafficErrors(spec: JsonObject): FieldError[] {
  const type = textIn(spec, "type");
  const isBalanced = type === "LoadBalancer";
  const errors = sourceRangeErrors(spec, isBalanced);
  if (spec["allocateLoadBalancerNodePorts"] !== undefined && !isBalanced)
    errors.push(fieldError.forbidden("spec.allocateLoadBalancerNodePorts", onlyBalanced));
  const balancer = spec["loadBalancerClass"];
  const at = "spec.loadBalancerClass";
  if (balancer !== undefined)
    errors.push(
      ...(isBalanced
        ? labelNameErrorsAt(String(balancer), at)
        : [fieldError.forbidden(at, onlyBalanced)]),
    );
  return [
    ...errors,
    ...externalPolicyErrors(spec, isBalanced || type === "NodePort"),
    ...choiceErrors(spec, "internalTrafficPolicy", ["Cluster", "Local"]),
    ...choiceErrors(spec, "trafficDistribution", distributions),
  ];
}

function choiceErrors(spec: JsonObject, member: string, values: readonly string[]): FieldError[] {
  const value = spec[member];
  if (value === undefined || values.includes(String(value))) return [];
  return [fieldError.notSupported(`spec.${member}`, value, values)];
}

function sourceRangeErrors(spec: JsonObject, isBalanced: boolean): FieldError[] {
  // With a capital letter, as Kubernetes writes it.
  const at = "spec.LoadBalancerSourceRanges";
  const ranges = listIn(spec["loadBalancerSourceRanges"]);
  if (ranges.length === 0) return [];
  return [
    ...(isBalanced ? [] : [fieldError.forbidden(at, onlyBalanced)]),
    ...itemErrors<string>(ranges as JsonValue, at, (range, place) =>
      blockErrors(range.trim(), place),
    ),
  ];
}

function externalPolicyErrors(spec: JsonObject, isExternal: boolean): FieldError[] {
  const policy = textIn(spec, "externalTrafficPolicy");
  const at = "spec.externalTrafficPolicy";
  const isReachable =
    isExternal || (spec["type"] === "ClusterIP" && listIn(spec["externalIPs"]).length > 0);
  if (isReachable) {
    if (policy === "") return [fieldError.required(at)];
    return choiceErrors(spec, "externalTrafficPolicy", ["Cluster", "Local"]);
  }
  const detail = "may only be set for externally-accessible services";
  return policy === "" ? [] : [fieldError.invalid(at, policy, detail)];
}
