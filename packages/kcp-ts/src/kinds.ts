/**
 * The entry point `kcp-ts/kinds`: the kinds of Kubernetes and kcp for clients, informers and
 * controllers.
 */
export * from "@kcp-ts/sdk/kinds";
