export { type EventExpiryOptions, eventExpiry } from "./event-expiry.ts";
