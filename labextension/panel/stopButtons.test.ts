// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest';

import type { Session } from '../client/session';
import { followStops, type Stoppable } from './stopButtons';

let node: HTMLElement;
let status: string;
let changed: () => void;
let received: (context: unknown, message: object) => void;
let did: string[];

beforeEach(() => {
  node = document.createElement('div');
  node.innerHTML =
    '<p><span class="dtj-stop dtj-stop-main"></span></p>' +
    '<span class="dtj-stop dtj-stop-thread" id="dtj-stop-a1"></span>';
  document.body.replaceChildren(node);
  did = [];
  status = 'idle';
  const kernel = {
    get status() {
      return status;
    },
    interrupt: () => did.push('interrupt'),
  };
  const statusChanged = { connect: (slot: () => void) => (changed = slot) };
  const iopubMessage = { connect: (slot: typeof received) => (received = slot) };
  const page = { node, sessionContext: { session: { kernel }, statusChanged, iopubMessage } };
  const session = {
    ask: (request: object) => {
      did.push(JSON.stringify(request));
      return Promise.reject(new Error('gone'));
    },
  };
  followStops(page as unknown as Stoppable, () => session as unknown as Session);
});

const main = () => node.querySelector<HTMLElement>('.dtj-stop-main')!;

function press(on: HTMLElement, button = 0): void {
  on.dispatchEvent(new MouseEvent('mousedown', { button, bubbles: true }));
}

test('a page shows the buttons of its kernel while that is busy', () => {
  expect([...node.classList]).toEqual(['dtj-front']);
  status = 'busy';
  changed();
  expect([...node.classList]).toEqual(['dtj-front', 'dtj-busy']);
  status = 'idle';
  changed();
  expect([...node.classList]).toEqual(['dtj-front']);
});

function executionStatus(execution_state: string, msg_type = 'execute_request'): void {
  const header = { msg_type: 'status' };
  received(null, { header, parent_header: { msg_type }, content: { execution_state } });
}

const isBusy = () => node.classList.contains('dtj-busy');

test('a message on the control channel does not hide the button of a cell that runs', () => {
  executionStatus('busy');
  expect(isBusy()).toBe(true);
  executionStatus('idle', 'debug_request');
  status = 'idle';
  changed();
  expect(isBusy()).toBe(true);
  executionStatus('idle');
  expect(isBusy()).toBe(false);
});

test('a kernel that restarts executes nothing', () => {
  executionStatus('busy');
  status = 'restarting';
  changed();
  expect(isBusy()).toBe(false);
  status = 'busy';
  changed();
  expect(isBusy()).toBe(true);
});

test('a button interrupts the kernel, by the keyboard too', () => {
  press(main());
  press(main(), 2);
  main().dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true }));
  main().dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
  press(node);
  expect(did).toEqual(['interrupt', 'interrupt']);
});

test('the button of a thread has the kernel stop it', () => {
  press(node.querySelector<HTMLElement>('.dtj-stop-thread')!);
  expect(did).toEqual(['{"ask":"stop","name":"a1"}']);
});
