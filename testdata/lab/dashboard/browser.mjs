// Looks at the pages that standard input names in a real Chromium, uses one, and prints
// what is wrong with them as a JSON object.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRequire } from 'node:module';

// The packages of Node belong to the CDK app.
const { chromium } = createRequire(new URL('../../../infra/package.json', import.meta.url))('playwright-core');

const given = JSON.parse(readFileSync(0, 'utf8'));
const patience = 60_000; // the machine may have much else to do
const faults = [];
let pictures = 0;

// inspect runs in the page and tells what a person would mind.
function inspect({ dark, wide }) {
  const found = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) found.push(`the page is ${root.scrollWidth} wide, the window ${root.clientWidth}`);
  if (document.title !== 'Whittle · prod') found.push(`the title is ${document.title}: a script ran`);
  const number = (text) => text.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  // The nearest background that is painted at all.
  const background = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const [r, g, b, alpha = 1] = number(getComputedStyle(e).backgroundColor);
      if (alpha > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  if (luminance(background(document.body)) > 0.2 === dark) found.push(`the page is not in its theme: its background is ${background(document.body)}`);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const pale = new Set();
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || ['STYLE', 'SCRIPT', 'CWDB-ACTION', 'NOSCRIPT'].includes(element.nodeName)) continue;
    const [a, b] = [luminance(number(getComputedStyle(element).color)), luminance(background(element))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) pale.add(`${element.nodeName}.${element.className} has a contrast of ${contrast.toFixed(2)}`);
    if (parseFloat(getComputedStyle(element).fontSize) < 11) pale.add(`${element.nodeName}.${element.className} is smaller than 11 px`);
  }
  found.push(...pale);
  if (getComputedStyle(document.querySelector('.whittle')).fontVariantNumeric !== 'tabular-nums') found.push('digits are not of one width');
  for (const cell of document.querySelectorAll('td, th, .tile span')) {
    if (cell.scrollWidth > cell.clientWidth + 1 && cell.clientWidth > 0) found.push(`"${cell.textContent.slice(0, 60)}" is cut off`);
  }
  for (const table of document.querySelectorAll('.scroll')) {
    if (!wide && table.scrollWidth > table.clientWidth) found.push(`the table of ${table.firstElementChild.className} needs ${table.scrollWidth}, and has ${table.clientWidth}`);
  }
  // The bars of a column begin below each other, and so do the ends of its numbers.
  for (const [what, side] of [['.nodes .cpu .bar', 'left'], ['.nodes .cpu .part:first-of-type', 'right'], ['.nodes .memory .bar', 'left']]) {
    const at = new Set([...document.querySelectorAll(what)].map((e) => e.getBoundingClientRect()[side].toFixed(0)));
    if (at.size > 1 && !wide && innerWidth > 900) found.push(`${what} begin at ${[...at]}`);
  }
  // On a narrow page the state comes first, and the reason stands under the name. Both are in sight.
  if (innerWidth <= 820) {
    for (const row of document.querySelectorAll('.nodes tbody tr, .pools tbody tr')) {
      const [state, name, reason] = ['.state', '.named', '.text'].map((part) => row.querySelector(part).getBoundingClientRect());
      if (state.left > 40 || state.top > row.getBoundingClientRect().top + 12) found.push(`a row does not begin with its state: ${row.textContent.slice(0, 40)}`);
      if (reason.height > 0 && (reason.top < name.bottom - 4 || reason.left > 40 || reason.right > innerWidth)) found.push(`the reason is not under the name: ${row.textContent.slice(0, 40)}`);
    }
  }
  return found;
}

async function look(browser, name, url, colorScheme, width) {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  page.setDefaultTimeout(patience);
  const about = `${name}-${colorScheme}-${width}`;
  page.on('console', (message) => faults.push(`${about}: the console says ${message.text()}`));
  page.on('pageerror', (error) => faults.push(`${about}: ${error}`));
  await page.goto(url);
  for (const fault of await page.evaluate(inspect, { dark: colorScheme === 'dark', wide: name === 'long' })) faults.push(`${about}: ${fault}`);
  await page.screenshot({ path: join(given.folder, `${about}.png`), fullPage: name !== 'large' });
  pictures++;
  await page.close();
}

// use does what a person does with the page.
async function use(browser) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(patience);
  page.on('pageerror', (error) => faults.push(`in use: ${error}`));
  await page.goto(given.pages.busy);
  const pools = () => page.$$eval('.nodes td:nth-child(2)', (cells) => [...new Set(cells.map((cell) => cell.textContent.split('-')[0]))].sort().join());
  const state = (text) => page.waitForFunction((text) => document.getElementById('state').textContent.includes(text), text);
  const expect = async (what, got, want) => { if (await got !== want) faults.push(`${what}: ${await got}, want ${want}`); };

  await expect('all pools', pools(), ',default,gpu,memory');
  await page.click('text="gpu" >> nth=0');
  await page.waitForFunction(() => document.querySelector('.chosen').textContent === 'gpu');
  await expect('one pool', pools(), 'gpu');
  await state('live');
  const answer = page.waitForResponse((response) => response.url().endsWith('/widget'));
  await answer; // asked for anew by itself
  await expect('one pool, later', pools(), 'gpu');
  await page.focus('.choice >> nth=0');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('.chosen').textContent === 'all pools');
  await expect('all pools again', pools(), ',default,gpu,memory');
  await expect('the focus', page.evaluate(() => document.activeElement.textContent), 'all pools');

  await page.request.post(new URL('/break', given.pages.busy).href);
  await state('not up to date: the console function failed: out of order');
  await expect('what was there last', pools(), ',default,gpu,memory');
  await page.request.post(new URL('/mend', given.pages.busy).href);
  await state('live');

  await page.goto(given.pages.long);
  // A long reason opens when it is clicked, and is still open when the widget has come anew.
  const [closed, open] = await page.evaluate(() => {
    const reason = document.querySelector('.waiting .clamp');
    const before = reason.offsetHeight;
    reason.focus();
    return [before, reason.offsetHeight];
  });
  if (open <= closed) faults.push('a long reason does not open');
  await state('live');
  await page.waitForFunction((closed) => document.activeElement.className === 'clamp' && document.activeElement.offsetHeight > closed, closed);
  await page.close();
}

// read looks at the page where scripts are off.
async function read(browser) {
  const page = await browser.newPage({ javaScriptEnabled: false });
  page.setDefaultTimeout(patience);
  await page.goto(given.pages.busy);
  if (await page.locator('.nodes tbody tr').count() < 10) faults.push('without scripts the page shows no nodes');
  await page.close();
}

const browser = await chromium.launch({ executablePath: given.executable, timeout: patience });
for (const [name, url] of Object.entries(given.pages)) {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [420, 800, 1280, 1400, 1920]) await look(browser, name, url, colorScheme, width);
  }
}
await use(browser);
await read(browser);
console.log(JSON.stringify({ pictures, faults, version: browser.version() }));
await browser.close();
