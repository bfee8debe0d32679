/** Files of a page that the server itself offers: no objects, no users. */

export {
  type ConsoleConfiguration,
  type ConsoleOptions,
  consoleOfServer,
  consoleSite,
} from "./console-site.ts";
export { StaticSite, type StaticSiteOptions } from "./static-site.ts";
