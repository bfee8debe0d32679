export { eventExpiry } from "./event-expiry.ts";
