/**
 * The entry point `kcp-ts/schema`: own kinds from TypeScript, with their types, schemas and
 * definitions.
 */
export * from "@kcp-ts/sdk/schema";
