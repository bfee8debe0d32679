import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { UserInfo } from "../request/index.ts";
import {
  AuthenticationError,
  type Authenticator,
  isAuthenticationError,
  RequestAuthenticator,
} from "./index.ts";

const alice: UserInfo = { username: "alice", groups: ["developers"] };

const knows: Authenticator = { authenticate: () => alice };
const declines: Authenticator = { authenticate: () => undefined };
const refuses: Authenticator = {
  authenticate() {
    throw new AuthenticationError("invalid-certificate", "refused");
  },
};
const refusesToken: Authenticator = {
  authenticate() {
    throw new AuthenticationError("invalid-token", "refused");
  },
};
const breaks: Authenticator = {
  authenticate() {
    throw new TypeError("a bug");
  },
};

/** An authenticator with the same results, asynchronously. */
function later(authenticator: Authenticator): Authenticator {
  return { authenticate: async (credentials) => authenticator.authenticate(credentials) };
}

/** The user's name, or the reason of the rejection. */
async function outcome(authenticators: Authenticator[], anonymous: boolean): Promise<string> {
  try {
    const gate = new RequestAuthenticator({ authenticators, anonymous });
    return (await gate.authenticate({})).username;
  } catch (error) {
    if (isAuthenticationError(error)) return error.code;
    return (error as Error).name;
  }
}

describe("the request authenticator", () => {
  const cases: readonly {
    readonly title: string;
    readonly authenticators: readonly Authenticator[];
    /** With anonymous requests allowed, and without. */
    readonly outcomes: readonly [string, string];
  }[] = [
    { title: "nobody to ask", authenticators: [], outcomes: ["system:anonymous", "absent"] },
    {
      title: "no credentials",
      authenticators: [declines, declines],
      outcomes: ["system:anonymous", "absent"],
    },
    { title: "known to the first", authenticators: [knows, breaks], outcomes: ["alice", "alice"] },
    {
      title: "known to the second",
      authenticators: [declines, knows],
      outcomes: ["alice", "alice"],
    },
    {
      title: "refused by the first, known to the second",
      authenticators: [refuses, knows],
      outcomes: ["alice", "alice"],
    },
    {
      title: "refused by one",
      authenticators: [declines, refuses, declines],
      outcomes: ["invalid-certificate", "invalid-certificate"],
    },
    {
      title: "refused by two: the first refusal stands",
      authenticators: [refuses, refusesToken],
      outcomes: ["invalid-certificate", "invalid-certificate"],
    },
    {
      title: "a bug is not a refusal",
      authenticators: [breaks, knows],
      outcomes: ["TypeError", "TypeError"],
    },
  ];
  for (const { title, authenticators, outcomes } of cases) {
    it(`has the same result with synchronous and asynchronous authenticators: ${title}`, async () => {
      const variants = [
        authenticators,
        authenticators.map(later),
        authenticators.map((each, at) => (at % 2 === 0 ? later(each) : each)),
        authenticators.map((each, at) => (at % 2 === 1 ? later(each) : each)),
      ];
      for (const variant of variants) {
        assert.equal(await outcome([...variant], true), outcomes[0]);
        assert.equal(await outcome([...variant], false), outcomes[1]);
      }
    });
  }

  it("adds system:authenticated once, and not to anonymous", () => {
    const groupsOf = (user: UserInfo) => {
      const authenticators = [{ authenticate: () => user }];
      const gate = new RequestAuthenticator({ authenticators, anonymous: true });
      return (gate.authenticate({}) as UserInfo).groups;
    };
    assert.deepEqual(groupsOf(alice), ["developers", "system:authenticated"]);
    assert.deepEqual(alice.groups, ["developers"]);
    const already = { username: "bob", groups: ["system:authenticated", "x"] };
    assert.deepEqual(groupsOf(already), ["system:authenticated", "x"]);
    const not = { username: "system:anonymous", groups: ["system:unauthenticated"] };
    assert.deepEqual(groupsOf(not), ["system:unauthenticated"]);
    const nobody = new RequestAuthenticator({ authenticators: [], anonymous: true });
    assert.deepEqual(nobody.authenticate({}), {
      username: "system:anonymous",
      groups: ["system:unauthenticated"],
    });
  });
});
