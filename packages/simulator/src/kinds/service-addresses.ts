/** The addresses and node ports that a cluster gives to its Services. */
import {
  type Draft,
  mutableItems,
  mutableMember,
  type NativeKind,
  setDefault,
} from "@kcp-ts/apiserver/kinds";
import type { JsonObject } from "@kcp-ts/machinery/json";

const nodePortMin = 30000;
const nodePortCount = 2768;

export function allocateAddresses(kind: NativeKind): NativeKind {
  return {
    ...kind,
    prepareNew(draft) {
      kind.prepareNew?.(draft);
      allocate(draft);
    },
    prepareUpdated(draft, old) {
      keepAddresses(draft, old);
      allocate(draft);
    },
  };
}

/** An update that omits the addresses keeps them. */
function keepAddresses(draft: Draft, old: JsonObject): void {
  const before = old["spec"] as JsonObject;
  const spec = mutableMember(draft, "spec");
  if (spec["type"] === "ExternalName") return;
  for (const member of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"])
    if (spec[member] === undefined && before[member] !== undefined) spec[member] = before[member];
}

function allocate(draft: Draft): void {
  const spec = mutableMember(draft, "spec");
  const { type } = spec;
  if (type === "ExternalName") return;
  if (type === "NodePort" || type === "LoadBalancer")
    for (const port of mutableItems(spec, "ports"))
      if (!port["nodePort"])
        port["nodePort"] = nodePortMin + (hash(draft, String(port["port"])) % nodePortCount);
  setDefault(spec, "ipFamilyPolicy", "SingleStack");
  spec["ipFamilies"] ??= ["IPv4"];
  const number = hash(draft, "address") % 65000;
  setDefault(spec, "clusterIP", `10.96.${number >> 8}.${number & 255 || 1}`);
  spec["clusterIPs"] ??= [spec["clusterIP"] as string];
}

/** Addresses and ports are derived from the uid: no allocation table is needed. */
function hash(draft: Draft, salt: string): number {
  const text = `${String((draft["metadata"] as JsonObject)["uid"])}${salt}`;
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++)
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return value;
}
