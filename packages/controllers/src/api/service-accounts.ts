import { builtInResource } from "@kcp-ts/sdk";

export const serviceAccounts = builtInResource("serviceaccounts");
