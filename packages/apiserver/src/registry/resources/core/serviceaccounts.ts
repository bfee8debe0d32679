import type { JsonObject } from "@kcp-ts/machinery/json";
import { serviceAccount, tokenRequest } from "@kcp-ts/machinery/shape";
import type { Draft, SubresourceStrategy } from "../../strategy.ts";
import {
  ageCell,
  ageColumn,
  baseStrategy,
  builtIn,
  listIn,
  nameCell,
  nameColumn,
  namespacedNames,
} from "../standard.ts";

/** Issues tokens; see handlers/token-request.ts. */
const tokenEndpoint: SubresourceStrategy = {
  verbs: ["create"],
  action: {
    group: "authentication.k8s.io",
    version: "v1",
    kind: "TokenRequest",
    shape: tokenRequest,
  },
  prepareForUpdate() {},
  validateUpdate: () => [],
};

export const serviceAccounts = builtIn({
  group: "",
  resource: "serviceaccounts",
  singular: "serviceaccount",
  kind: "ServiceAccount",
  isNamespaced: true,
  shortNames: ["sa"],
  subresources: new Map([["token", tokenEndpoint]]),
  strategy: {
    ...baseStrategy,
    ...namespacedNames,
    shape: serviceAccount,
    allowsUnconditionalUpdate: true,
    returnsDeletedObject: true,
    prepareForCreate: keepSecretNames,
    prepareForUpdate: keepSecretNames,
    columns: [nameColumn, ageColumn],
    cells: (object, nowMs) => [nameCell(object), ageCell(object, nowMs)],
  },
});

/** A reference to a secret has its name only. */
function keepSecretNames(draft: Draft): void {
  if (draft["secrets"] === undefined) return;
  draft["secrets"] = listIn(draft["secrets"]).map((secret) => {
    const { name } = secret as JsonObject;
    return name === undefined ? {} : { name };
  });
}
