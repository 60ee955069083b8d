import type { Scene } from '../page-picture.ts'
import { at, choose, fill, inDialog, pick, press, wrong } from './steps.ts'

const LIMITS_PAGE = at('/limits')
const END_USERS_PAGE = at('/end-users')
const SESSIONS_PAGE = at('/browser-sessions')

export const LIMIT_STORIES: Record<string, Scene> = {
  'limits of the account': {
    path: LIMITS_PAGE,
    act: async (page) => {
      await press(page, 'Edit the limits of the account')
      await inDialog(page, 'Save limits', { 'Monthly budget': '300', 'Tokens per minute': '1,000,000' })
    },
  },
  'limits of the project, all taken away': {
    path: LIMITS_PAGE,
    act: async (page) => {
      await press(page, 'Edit the limits of this project')
      await inDialog(page, 'Save limits', { 'Weekly budget': '', 'Concurrent calls': '' })
    },
  },
  'limits of every end user that make no sense': {
    path: LIMITS_PAGE,
    act: async (page) => {
      await press(page, 'Edit the limits of every end user')
      await inDialog(page, 'Save limits', { 'Daily budget': 'much', 'Requests per minute': '0' })
    },
  },
  'limits of every end user': {
    path: LIMITS_PAGE,
    act: async (page) => {
      await press(page, 'Edit the limits of every end user')
      await inDialog(page, 'Save limits', { 'Total budget': '4.5' })
    },
  },
  'limits of a key pair that the server finds wrong': {
    path: LIMITS_PAGE,
    replies: { 'PUT /api/projects/:project/keys/:key/limits': wrong('monthNanos') },
    act: async (page) => {
      await press(page, 'Edit the limits of web server')
      await inDialog(page, 'Save limits', { 'Monthly budget': '7' })
    },
  },
  'limits of a key pair, from its menu': {
    path: at('/keys'),
    act: async (page) => {
      await pick(page, 'Actions for web server', 'Limits…')
      await inDialog(page, 'Save limits', { 'Monthly budget': '8' })
    },
  },
  'more browser sessions': { path: SESSIONS_PAGE, act: (page) => press(page, 'Load more') },
  'a browser session that is ended': {
    path: SESSIONS_PAGE,
    act: async (page) => {
      await press(page, 'End the session of Grace of Yale')
      await inDialog(page, 'End session')
    },
  },
  'all browser sessions of a pair, from its menu': {
    path: at('/keys'),
    act: async (page) => {
      await pick(page, 'Actions for web server', 'Browser sessions…')
      await press(page, 'End all of web server')
      await inDialog(page, 'End all sessions')
    },
  },
  'browser sessions of another pair': {
    path: SESSIONS_PAGE,
    act: (page) => choose(page, 'Key pair', 'nightly import'),
  },
  'more end users': { path: END_USERS_PAGE, act: (page) => press(page, 'Load more') },
  'an end user who is looked for': {
    path: END_USERS_PAGE,
    act: async (page) => {
      await fill(page, { 'Your own id for an end user, or a part of their label': ' customer-17 ' })
      await press(page, 'Find')
    },
  },
  'an end user who is not found': {
    path: END_USERS_PAGE,
    replies: { 'POST /api/projects/:project/end-users/search': { items: [] } },
    act: async (page) => {
      await fill(page, { 'Your own id for an end user, or a part of their label': 'nobody' })
      await press(page, 'Find')
    },
  },
  'a search that is cleared': {
    path: END_USERS_PAGE,
    act: async (page) => {
      await fill(page, { 'Your own id for an end user, or a part of their label': 'customer-17' })
      await press(page, 'Find', 'Show all end users')
    },
  },
  'limits of one end user': {
    path: END_USERS_PAGE,
    act: async (page) => {
      await pick(page, 'Actions for Grace of Yale', 'Limits…')
      await inDialog(page, 'Save limits', { 'Daily budget': '', 'Weekly budget': '9' })
    },
  },
  'an end user who is erased': {
    path: END_USERS_PAGE,
    act: async (page) => {
      await pick(page, 'Actions for Grace of Yale', 'Erase…')
      await inDialog(page, 'Erase end user')
    },
  },
}
