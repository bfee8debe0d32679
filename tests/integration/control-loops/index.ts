/** For tests of other rooms: a server with control loops beside it. */
export { ControllersFixture, eventually, ownedBy, type Tenant } from "./controllers-fixture.ts";
