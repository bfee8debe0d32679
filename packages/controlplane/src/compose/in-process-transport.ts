/** The SDK's way into a server of the same process, under the name that this package has for it. */
export { serverTransport as inProcessTransport } from "@kcp-ts/sdk/client";
