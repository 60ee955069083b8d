import type { Scene } from '../page-picture.ts'
import { at, fill, inDialog, pick, press, wrong } from './steps.ts'

const ALERTS_PAGE = at('/alerts')
const OF_FIRST = 'Actions for https://hooks.example.com/parley'
const OF_SECOND = 'Actions for https://old.example.com/events?from=parley'

export const ALERT_STORIES: Record<string, Scene> = {
  'an alert that is switched off': {
    path: ALERTS_PAGE,
    act: (page) => page.getByRole('switch', { name: 'Error rate' }).click(),
  },
  'a threshold of an alert': {
    path: ALERTS_PAGE,
    act: async (page) => {
      await fill(page, { 'Threshold of Budget used': '90' })
      await page.getByLabel('Threshold of Budget used').press('Enter')
    },
  },
  'a threshold that is as it was at first': {
    path: ALERTS_PAGE,
    act: async (page) => {
      await fill(page, { 'Threshold of Error rate': '20' })
      await page.getByLabel('Threshold of Error rate').press('Enter')
    },
  },
  'a threshold that makes no sense': {
    path: ALERTS_PAGE,
    act: (page) => fill(page, { 'Threshold of Budget used': '101' }),
  },
  'a new endpoint, for all but one event': {
    path: ALERTS_PAGE,
    act: async (page) => {
      await press(page, 'Add endpoint')
      await page.getByRole('checkbox', { name: 'An alert closes' }).uncheck()
      await inDialog(page, 'Add endpoint', { URL: 'https://example.com/webhooks' })
    },
  },
  'an endpoint that the server refuses': {
    path: ALERTS_PAGE,
    replies: { 'POST /api/projects/:project/webhooks': wrong('url') },
    act: async (page) => {
      await press(page, 'Add endpoint')
      await inDialog(page, 'Add endpoint', { URL: 'https://10.0.0.1/' })
    },
  },
  'an endpoint that moves': {
    path: ALERTS_PAGE,
    act: async (page) => {
      await pick(page, OF_FIRST, 'Edit…')
      await inDialog(page, 'Save', { URL: 'https://hooks.example.com/v2' })
    },
  },
  'an endpoint that is switched on again': {
    path: ALERTS_PAGE,
    act: (page) => pick(page, OF_SECOND, 'Switch on'),
  },
  'a new secret of an endpoint': {
    path: ALERTS_PAGE,
    act: async (page) => {
      await pick(page, OF_FIRST, 'Roll secret…')
      await inDialog(page, 'Roll secret')
    },
  },
  'an endpoint that is deleted': {
    path: ALERTS_PAGE,
    act: async (page) => {
      await pick(page, OF_FIRST, 'Delete…')
      await inDialog(page, 'Delete endpoint')
    },
  },
  'a test event': {
    path: ALERTS_PAGE,
    act: (page) => pick(page, OF_FIRST, 'Send test event'),
  },
  'a delivery that is looked into, and sent again': {
    path: ALERTS_PAGE,
    act: async (page) => {
      await pick(page, OF_FIRST, 'Deliveries…')
      await press(page, 'Show body', 'Send again')
    },
  },
}
