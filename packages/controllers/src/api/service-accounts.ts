import { defineResource } from "@kcp-ts/sdk";

export const serviceAccounts = defineResource({
  group: "",
  version: "v1",
  resource: "serviceaccounts",
  kind: "ServiceAccount",
  namespaced: true,
});
