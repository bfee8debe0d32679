/** The entry point `kcp-ts/tenancy`: workspaces and shared APIs for your own API server. */
export * from "@kcp-ts/tenancy";
