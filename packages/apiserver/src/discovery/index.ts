export { isDiscoveryPath, serveDiscovery } from "./discovery.ts";
