/** The test environment of this package: an API server with workspaces, in process. */
import {
  TestServer as PlainTestServer,
  type TestServerOptions as PlainTestServerOptions,
} from "@kcp-ts/apiserver/testing";
import { type TenancyExtension, tenancy } from "../tenancy-extension.ts";

export { allKinds } from "./sample-kinds.ts";
export { startTestShards, TestShards, testExternalUrl } from "./test-shards.ts";
export { common, fillTwoTenants, onlyInB, secretOfB, stateOfB } from "./two-tenants.ts";

export type TestServer = PlainTestServer<TenancyExtension>;
export type TestServerOptions = PlainTestServerOptions<TenancyExtension>;

export const TestServer = {
  start: (options: TestServerOptions = {}): Promise<TestServer> =>
    PlainTestServer.start({ extension: tenancy(), ...options }),
};
