/** The entry point `kcp-ts/testing`: an API server inside your tests. */
export * from "@kcp-ts/testing";
