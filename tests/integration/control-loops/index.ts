/** For tests of other rooms: a server with control loops beside it. */
export { eventually, ownedBy, Plane, type Tenant } from "./plane.ts";
