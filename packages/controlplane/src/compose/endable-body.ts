/** The SDK's stream that can be ended from outside, for this package's faults. */
export { EndableBody } from "@kcp-ts/sdk/client";
