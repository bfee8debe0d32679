/** Files of a page that the server itself offers: no objects, no users. */
export { StaticSite, type StaticSiteOptions } from "./static-site.ts";
