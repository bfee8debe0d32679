/** Warnings about Services and the addresses behind them, in Kubernetes' words. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { listIn, objectIn, textIn } from "../standard.ts";
import { addressWarnings, blockWarnings } from "./amount-warnings.ts";

const hintsAnnotation = "service.kubernetes.io/topology-aware-hints";

export function serviceWarnings(object: JsonObject): string[] {
  const spec = objectIn(object, "spec");
  const [type, balancer] = [textIn(spec, "type"), textIn(spec, "loadBalancerIP")];
  const isHeadless = type === "ClusterIP" && spec["clusterIP"] === "None";
  const isName = type === "ExternalName";
  const external = listIn(spec["externalIPs"]);
  const conditions: readonly (readonly [boolean, string])[] = [
    [isHeadless && balancer !== "", "spec.loadBalancerIP is ignored for headless services"],
    [isHeadless && external.length > 0, "spec.externalIPs is ignored for headless services"],
    [
      isHeadless && spec["sessionAffinity"] !== "None",
      "spec.SessionAffinity is ignored for headless services",
    ],
  ];
  const later: typeof conditions = [
    [isName && external.length > 0, 'spec.externalIPs is ignored when spec.type is "ExternalName"'],
    [
      !isName && textIn(spec, "externalName") !== "",
      'spec.externalName is ignored when spec.type is not "ExternalName"',
    ],
    [
      spec["trafficDistribution"] === "PreferClose",
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ],
  ];
  return [
    ...(objectIn(objectIn(object, "metadata"), "annotations")[hintsAnnotation] === undefined
      ? []
      : [
          `annotation ${hintsAnnotation} is deprecated, please use service.kubernetes.io/topology-mode instead`,
        ]),
    ...(isHeadless || isName ? [] : addressesWarnings(spec["clusterIPs"], "spec.clusterIPs")),
    ...textsOf(conditions),
    ...addressesWarnings(external as JsonValue, "spec.externalIPs"),
    ...(external.length > 0 && !isHeadless && !isName
      ? ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"]
      : []),
    ...addressWarnings(balancer, "spec.loadBalancerIP"),
    ...listIn(spec["loadBalancerSourceRanges"]).flatMap((block, index) =>
      blockWarnings(String(block).trim(), `spec.loadBalancerSourceRanges[${index}]`),
    ),
    ...textsOf(later),
  ];
}

function textsOf(conditions: readonly (readonly [boolean, string])[]): string[] {
  return conditions.filter(([isMet]) => isMet).map(([, text]) => text);
}

function addressesWarnings(addresses: JsonValue | undefined, at: string): string[] {
  return listIn(addresses).flatMap((address, index) =>
    addressWarnings(String(address), `${at}[${index}]`),
  );
}

export function endpointsWarnings(object: JsonObject): string[] {
  return listIn(object["subsets"]).flatMap((subset, index) =>
    !isJsonObject(subset)
      ? []
      : ["addresses", "notReadyAddresses"].flatMap((member) =>
          (listIn(subset[member]) as readonly JsonObject[]).flatMap((address, place) =>
            addressWarnings(textIn(address, "ip"), `subsets[${index}].${member}[${place}].ip`),
          ),
        ),
  );
}

export function endpointSliceWarnings(object: JsonObject, old: JsonObject | undefined): string[] {
  const isDeprecated = old === undefined && object["addressType"] === "FQDN";
  return [
    ...(isDeprecated ? ["spec.addressType: FQDN endpoints are deprecated"] : []),
    ...(listIn(object["endpoints"]) as readonly JsonObject[]).flatMap((endpoint, index) =>
      addressesWarnings(endpoint["addresses"], `endpoints[${index}].addresses`),
    ),
  ];
}

/** Of the blocks of addresses in a NetworkPolicy. */
export function networkPolicyWarnings({ spec }: JsonObject): string[] {
  if (!isJsonObject(spec)) return [];
  return (
    [
      ["ingress", "from"],
      ["egress", "to"],
    ] as const
  ).flatMap(([rules, peers]) =>
    (listIn(spec[rules]) as readonly JsonObject[]).flatMap((rule, index) =>
      (listIn(rule[peers]) as readonly JsonObject[]).flatMap(({ ipBlock }, place) => {
        if (!isJsonObject(ipBlock)) return [];
        const at = `spec.${rules}[${index}].${peers}[${place}].ipBlock`;
        return [
          ...blockWarnings(textIn(ipBlock, "cidr"), `${at}.cidr`),
          ...listIn(ipBlock["except"]).flatMap((block, at2) =>
            blockWarnings(String(block), `${at}.except[${at2}]`),
          ),
        ];
      }),
    ),
  );
}
