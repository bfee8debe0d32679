/**
 * What one turn of the event loop may read, write, acknowledge and compute, what may wait for a
 * later turn, and which requests overtake others: every figure of it, in one table.
 *
 * Microseconds are estimates for this server on an ordinary machine. They need not be right, only in
 * proportion to each other.
 */
export const eventLoopLimits = {
  /** Requests that begin, and chunks of streams that are written. */
  compute: {
    microsPerTurn: 2000,
    /** The same while more than one tenant is at work: the others are to be heard soon. */
    contendedMicrosPerTurn: 800,
    /** For how many turns contention is remembered: about as many milliseconds under load. */
    contendedTurns: 200,
  },
  /** What is read from connections; a unit is one request, or `bytesPerUnit` of a body. */
  inbound: {
    unitsPerTurnMax: 64,
    unitsPerConnectionMax: 32,
    /** What a connection may always send in a turn, however much others did. */
    unitsFree: 4,
    bytesPerUnit: 8 << 10,
    /** Requests of one connection that are worked on. Answers that go on, such as watches, are not. */
    atWorkMax: 64,
    /** The same of all connections together, but for `unitsFree` of each. */
    atWorkOfAllMax: 128,
    /** Requests of all connections whose bodies are waited for before they begin. */
    arrivingMax: 2048,
    /** A body that is waited for takes no longer, or its request begins without it. */
    arrivalMaxMs: 1000,
    /** Longer bodies are not waited for: their readers count what they take. */
    awaitedBodyBytesMax: 16 << 10,
    /** So many frames without a request or a body count as one request. */
    controlFramesPerUnit: 64,
    /** Streams of a connection that is gone that are closed in a turn: some ten microseconds each. */
    closedPerTurnMax: 32,
  },
  /**
   * What is written to connections. About a millisecond's worth for one, two for all: framed,
   * encrypted, and handed to a peer on the same machine, which is the dearest.
   */
  outbound: {
    bytesPerConnectionMax: 128 << 10,
    bytesPerTurnMax: 256 << 10,
    /** What a connection may always send in a turn, so that small answers never wait. */
    bytesFree: 4 << 10,
  },
  /** Answers that are ready and wait for their readers. */
  unreadResponses: {
    /** While so much waits on a connection, none of its further requests begins. */
    bytesPerConnectionMax: 8 << 20,
    /**
     * While so much waits in all, only connections on which nothing waits begin requests, and
     * connections that are not read from at all are ended sooner.
     */
    bytesMax: 128 << 20,
  },
  /** Reads of one object that begin although the turn is spent or others wait. */
  smallRequestBypass: {
    /** Lists, watches and writes cost more. */
    microsMax: 60,
    microsPerTenant: 200,
    microsPerTurn: 1000,
  },
  /** Requests that go one by one: bodies of a quarter of a megabyte, lists of thousands. */
  largeRequests: {
    micros: 5000,
    /** Beside other tenants they rest between two for so many times as long as the last one took. */
    restFactor: 2,
    restMaxMs: 400,
    waitingPerFlowMax: 100,
    waitingMax: 1000,
  },
  /** Watches that are opened while other tenants are at work. */
  watchOpens: {
    perSecond: 400,
    /** What may be opened at once after a quiet time. */
    burstMax: 400,
    /** How often those that wait are looked at. */
    intervalMs: 10,
    waitingPerFlowMax: 1000,
    waitingMax: 4000,
  },
  /** Events that are handed to watches. */
  fanOut: {
    /** Watches of one prefix that hear of an event in the turn in which it happens. */
    directMax: 16,
    /** Of all prefixes. */
    microsPerTurn: 500,
    /** Events that a watch may be behind. */
    backlogEventsMax: 4096,
    backlogBytesMax: 16 << 20,
    /** The same of all prefixes together: of the one that has most, the furthest behind are ended. */
    allBacklogsBytesMax: 64 << 20,
    /** Events that a watch may be behind before they are put into its own buffer, which has bounds of its own. */
    heldEventsMax: 1024,
    /** After which a group of slow readers is looked at again. */
    heldMs: 10,
  },
  /** Writes of one batch of the store that are acknowledged in a turn. */
  acknowledgedPerTurnMax: 64,
  /** Stored objects that a selector looks at in a turn. */
  matched: { objectsPerTurn: 1000, bytesPerTurn: 256 << 10 },
  /** Answers that are made while they are sent, such as Tables and YAML. */
  madeAnswers: { msPerTurn: 1, chunkChars: 16 << 10 },
} as const;

/** What things take, in microseconds. */
export const eventLoopCosts = {
  /** Writing a chunk of a stream, and making the next one. */
  chunk: 15,
  byte: 1 / 250,
  /** A byte of an answer that is made while it is sent. */
  madeByte: 1 / 20,
  /** An answer that says no. */
  refusal: 100,
  fanOut: {
    /** An event for one of few watches. */
    direct: 4,
    visit: 1,
    /** Looking at an event, with a selector perhaps. */
    event: 0.5,
    send: 14,
    byte: 1 / 250,
    /** Ending a watch, and its answer. */
    ending: 60,
  },
} as const;

type Figures<Table> = { readonly [Name in keyof Table]: number };

export type InboundLimits = Figures<typeof eventLoopLimits.inbound>;
export type UnreadResponseLimits = Figures<typeof eventLoopLimits.unreadResponses>;
