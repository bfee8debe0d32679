/** Who the user is, and clients that speak with the user's credentials. */
export { type ConsoleConfiguration, Session, type SessionState } from "./session.ts";
export { SessionContext, useSession } from "./session-context.ts";
