/** EndpointSlices. */
import { endpointSlice } from "@kcp-ts/machinery/shape";
import { mutableItems, setDefault } from "../../mutable-members.ts";
import type { NativeKind } from "../native-kind.ts";
import { oneOf } from "../rules.ts";

export const endpointSlices: NativeKind = {
  group: "discovery.k8s.io",
  kind: "EndpointSlice",
  resource: "endpointslices",
  shape: endpointSlice,
  hasStatus: false,
  setDefaults(draft) {
    for (const port of mutableItems(draft, "ports")) {
      port["name"] ??= "";
      setDefault(port, "protocol", "TCP");
    }
  },
  validate: (object) => oneOf(object, "addressType", ["FQDN", "IPv4", "IPv6"], ""),
};
