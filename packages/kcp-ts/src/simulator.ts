/** The entry point `kcp-ts/simulator`: simulated physical clusters in your process. */
export * from "@kcp-ts/simulator";
