/** The version of every package of kcp, which servers, agents and commands report. */
export const kcpVersion = "0.1.0";
