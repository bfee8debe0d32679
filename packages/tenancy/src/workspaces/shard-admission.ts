/** Admission of Shards: missing URLs default to the base URL. */
import type { AdmissionPlugin } from "@kcp-ts/apiserver/admission";
import { isJsonObject } from "@kcp-ts/machinery/json";
import { shards } from "./kinds/definitions.ts";

export const shardAdmission: AdmissionPlugin = {
  name: "tenancy.kcp.io/Shard",
  resources: [shards],
  mutate({ subresource }, draft) {
    if (subresource !== "") return undefined;
    const { spec } = draft;
    if (!isJsonObject(spec) || typeof spec["baseURL"] !== "string") return undefined;
    const externalURL = spec["externalURL"] || spec["baseURL"];
    const virtualWorkspaceURL = spec["virtualWorkspaceURL"] || spec["baseURL"];
    draft["spec"] = { ...spec, externalURL, virtualWorkspaceURL };
    return undefined;
  },
};
